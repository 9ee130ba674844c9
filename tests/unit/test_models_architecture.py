"""Checkpoints that are not what config.json says are refused by name; what is harmless
about them changes no number."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from made_up_jobs import expected_statistics, full_request, requests_of, rows, target_of
from safetensors.torch import load_file, save_file

import tiny_models
from pretrace.models.checkpoint import register_local
from pretrace.passes.engine import Engine
from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.runtime.errors import InputError

GENERATOR = np.random.default_rng(0)
SIZES = tiny_models.SIZES | {
    "vocab_size": tiny_models.VOCABULARY, "intermediate_size": 64,
    "max_position_embeddings": tiny_models.CONTEXT,
}  # fmt: skip


@pytest.fixture
def folder(tiny_checkpoint, tmp_path):
    """Gives a copy of a tiny checkpoint of a kind."""
    return lambda kind="llama": Path(
        shutil.copytree(tiny_checkpoint(kind).parent / "model", tmp_path / kind)
    )


@pytest.fixture
def saved(tmp_path):
    """Gives the folder of a model with a tokenizer, drawn wide."""

    def save(model):
        torch.manual_seed(0)
        with torch.no_grad():
            for weight in model.parameters():
                weight.normal_(0, 0.2)
        model.save_pretrained(tmp_path / "model")
        tiny_models.tiny_tokenizer().save_pretrained(tmp_path / "model")
        return tmp_path / "model"

    return save


def configured(folder, **changes):
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def reweighted(folder, change):
    weights = load_file(folder / "model.safetensors")
    save_file(change(weights), folder / "model.safetensors", metadata={"format": "pt"})


def indexed(content):
    def index(folder):
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors.index.json").write_text(content)

    return index


def loaded(folder):
    register_local(folder, folder.parent / "checkpoint.json")
    target = target_of(folder.parent / "checkpoint.json")
    return target, target.load()


def check(folder, sizes, prompt_prefix, plain=transformers.AutoModelForCausalLM):
    """Texts of these many tokens, in one batch, have the numbers of plain transformers,
    one text at a time."""
    target, model = loaded(folder)
    reference = plain.from_pretrained(folder, dtype=torch.float32).eval()
    texts = [GENERATOR.integers(4, 299, size).tolist() for size in sizes]
    computed = Engine(model, "tiny", 4096).statistics(
        requests_of(texts), prompt_prefix, statistics="logprobs"
    )
    for tokens, values in zip(texts, computed, strict=True):
        expected = expected_statistics(reference, prompt_prefix.ids, tokens)[:1]
        np.testing.assert_allclose(values, expected, atol=1e-5, rtol=0)
    return target


ANGLES = 10_000.0 ** -(torch.arange(4) / 4)
"""The frequencies of a rotary embedding of the usual base."""


def with_angles(angles):
    """Changes a folder: rotary frequencies in it, as old checkpoints have them."""
    return lambda folder: reweighted(
        folder,
        lambda weights: (
            weights | {"model.layers.1.self_attn.rotary_emb.inv_freq": angles}
        ),
    )


QUERIES = "model.layers.0.self_attn.q_proj"


def quantised(dtype, scale="weight_scale", **config):
    """Changes a folder: the weights of the first queries in 8 bits with one scale, and
    these keys of config.json."""

    def narrow(weights):
        largest = weights[f"{QUERIES}.weight"].abs().max() / 100
        whole = (weights[f"{QUERIES}.weight"] / largest).to(dtype)
        return weights | {f"{QUERIES}.weight": whole, f"{QUERIES}.{scale}": largest}

    def change(folder):
        reweighted(folder, narrow)
        configured(folder, **config)

    return change


SCALARS = "q_proj.weight as (F8_E4M3|I8).* no quantization_config by which transformers"
MODELOPT = {"quant_method": "modelopt", "quant_algo": "FP8"}
REFUSED = {
    "float8 of an unknown method": (quantised(torch.float8_e4m3fn,
                                              quantization_config=MODELOPT), SCALARS),
    "float8 of an old key": (quantised(torch.float8_e4m3fn,
                                       compression_config={"format": "float"}),
                                       SCALARS),
    "float8 without a method": (quantised(torch.float8_e4m3fn, scale="scale"), SCALARS),
    "int8 of an unknown method": (quantised(torch.int8,
                                            quantization_config={"quant_method": "w8"}),
                                            SCALARS),
    "scales that a method does not know": (
        quantised(torch.float8_e4m3fn, quantization_config={"quant_method": "fp8"}),
        "scales of quantised|lacks weights"),
    "scales of activations": (
        lambda folder: reweighted(
            folder,
            lambda weights: weights | {f"{QUERIES}.input_zero_point": torch.tensor(2)}),
        r"scales of quantised numbers.*input_zero_point.*Save the model in 16 bits"),
    "code of its own": (
        lambda folder: configured(folder, model_type="other",
                                  auto_map={"AutoConfig": "configuration_x.X"}),
        "remote_code: true in the model's entry and trust_remote_code: true"),
    "a number of no known name": (
        lambda folder: reweighted(folder,
                                  lambda weights: weights | {f"{QUERIES}.gain": torch.tensor(2.0)}),
        r"does not use.*q_proj\.gain"),
    "a bias with a mask's name": (
        lambda folder: reweighted(
            folder,
            lambda weights: weights | {"model.layers.0.self_attn.bias": torch.ones(32)}),
        r"does not use.*self_attn\.bias"),
    "fewer layers": (lambda folder: configured(folder, num_hidden_layers=1),
                     r"does not use.*model\.layers\.1\."),
    "no layer": (lambda folder: configured(folder, num_hidden_layers=0),
                 r"does not use.*and \d+ more"),
    "less than none": (lambda folder: configured(folder, num_hidden_layers=-1),
                       "does not use"),
    "biases of another architecture": (
        lambda folder: reweighted(folder,
                                  lambda weights: weights | {f"{QUERIES}.bias": torch.ones(32)}),
        r"LlamaForCausalLM does not use.*q_proj\.bias",
    ),
    "integers without scales": (
        lambda folder: reweighted(
            folder,
            lambda weights: {name: (9 * weight).to(torch.int8) for name,
                             weight in weights.items()}
        ),
        r"weight as I8.*has no quantization_config",
    ),
    "weights of truth values": (
        lambda folder: reweighted(
            folder,
            lambda weights: weights | {f"{QUERIES}.weight": weights[f"{QUERIES}.weight"] > 0}
        ),
        r"q_proj\.weight as BOOL.*has no quantization_config",
    ),
    "rotary frequencies of another base": (
        with_angles(500_000.0 ** -(torch.arange(4) / 4)),
        r"layers\.1.*inv_freq with other frequencies than LlamaFor"),
    "rotary frequencies of another width": (with_angles(ANGLES[::2].clone()),
                                            "inv_freq with other frequencies"),
    "an adapter": (lambda folder: (folder / "adapter_config.json").write_text("{}"),
                   "merge_and_unload"),
    "both directions": (lambda folder: configured(folder, is_causal=False),
                        "not causal.*a token changes"),
    "pictures": (lambda folder: configured(folder, model_type="vit"),
                 "type vit.* no causal language model"),
    "nested without end": (indexed("[" * 100_000), "not valid JSON"),
} | {
    f"index {content}": (indexed(content), "no weight_map")
    for content in ("{}", "[]", "null", '{"weight_map": []}', '{"weight_map": {}}',
                    '{"weight_map": {"a": 5}}')
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_a_checkpoint_that_is_not_what_it_says_is_refused_in_a_sentence(folder, fault):
    change, says = REFUSED[fault]
    change(copied := folder())
    with pytest.raises(InputError, match=says) as refused:
        loaded(copied)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("kind", "says"),
    [("Bert", "a token changes"), ("Roberta", "a token changes"),
     ("XLM", "a token changes"),
     ("ProphetNet", "the number of tokens behind changes")],
)  # fmt: skip
def test_a_model_that_reads_both_ways_is_refused(saved, kind, says):
    sizes = SIZES | {"is_encoder_decoder": False}
    if kind == "ProphetNet":
        sizes |= {
            "num_decoder_layers": sizes.pop("num_hidden_layers"),
            "bos_token_id": 1,
        }
    config = getattr(transformers, f"{kind}Config")(**sizes)
    with pytest.raises(InputError, match=f"not causal: {says}"):
        loaded(saved(transformers.AutoModelForCausalLM.from_config(config)))


HARMLESS = {
    "masks of old checkpoints": ("gpt_neo", {
        "transformer.h.0.attn.attention.bias": torch.ones(1, 1, 9, 9,
                                                          dtype=torch.uint8),
        "transformer.h.0.attn.attention.masked_bias": torch.tensor(-1e9)}),
    "scales of activations and of a cache": ("llama", {
        f"{QUERIES}.input_scale": torch.tensor(2.0),
        "model.layers.0.self_attn.k_scale": torch.tensor(3.0)}),
    "angles and positions": ("llama", {
        "model.layers.0.self_attn.rotary_emb.inv_freq": ANGLES.bfloat16(),
        "model.position_ids": torch.arange(9)}),
    "a block that predicts later tokens": ("llama", {
        "mtp.layers.0.self_attn.q_proj.weight": torch.ones(2, 2),
        "model.mtp_layers.0.eh_proj.weight": torch.ones(2, 2)}),
}  # fmt: skip


@pytest.mark.parametrize("behind", [2, 3, 4])
def test_as_many_layers_behind_the_last_as_config_json_says_are_left_out(
    folder, behind
):
    """Layers 0 and 1 are the model's; they predict one token, the next two others."""
    layer = {f"model.layers.{behind}.eh_proj.weight": torch.ones(2, 2)}
    reweighted(copied := folder(), lambda weights: weights | layer)
    configured(copied, num_nextn_predict_layers=2)
    if behind < 4:
        check(copied, (5, 20), PromptPrefix((1,)))
    else:
        with pytest.raises(InputError, match=r"does not use.*model\.layers\.4"):
            loaded(copied)


@pytest.mark.parametrize("case", HARMLESS)
def test_what_is_no_weight_changes_no_number(folder, case):
    kind, tensors = HARMLESS[case]
    reweighted(copied := folder(kind), lambda weights: weights | tensors)
    check(copied, (5, 20), PromptPrefix((1,)))


def test_quantised_weights_that_transformers_reads_are_scored(folder):
    """One scale for each matrix, under the name that transformers knows, and the scale
    of activations beside it."""
    parts = (
        "self_attn.k_proj",
        "self_attn.v_proj",
        "self_attn.o_proj",
        "mlp.gate_proj",
        "mlp.up_proj",
        "mlp.down_proj",
    )
    whole_parts = [
        "lm_head",
        "model.layers.1",
        *(f"model.layers.0.{part}" for part in parts),
    ]
    method = {
        "quant_method": "fp8",
        "weight_block_size": None,
        "modules_to_not_convert": whole_parts,
    }
    quantised(torch.float8_e4m3fn, "weight_scale_inv", quantization_config=method)(
        copied := folder()
    )
    reweighted(
        copied,
        lambda weights: weights | {f"{QUERIES}.activation_scale": torch.tensor(2.0)},
    )
    weights = load_file(copied / "model.safetensors")
    whole = (
        weights[f"{QUERIES}.weight"].float() * weights[f"{QUERIES}.weight_scale_inv"]
    )
    _, model = loaded(copied)
    read = model.get_parameter(f"{QUERIES}.weight").detach().float()
    np.testing.assert_allclose(read, whole, rtol=0.01)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"rope_theta": 10_000.0},
         r"names rope_theta 10000.*sliding_attention.* with 500000\..*rope_parameters"),
        ({"rope_theta": 500_000.0}, ""),
        ({}, ""),
        ({"rope_parameters": {kind: {"rope_type": "default", "rope_theta": 10_000.0}
                              for kind in ("full_attention", "sliding_attention")}},
                              ""),
    ],
)  # fmt: skip
def test_a_rotary_base_that_config_json_does_not_name_is_refused(saved, keys, says):
    model = transformers.Olmo3ForCausalLM(
        transformers.Olmo3Config(**SIZES, num_key_value_heads=2)
    )
    written = json.loads((saved(model) / "config.json").read_text())
    del written["rope_parameters"]
    folder = Path(saved(model))
    (folder / "config.json").write_text(json.dumps(written | keys))
    if says:
        with pytest.raises(InputError, match=says):
            loaded(folder)
    else:
        check(folder, (5, 20), PromptPrefix(()))


class Linear8bitLt(torch.nn.Linear):
    """Stands for bitsandbytes': what it gives a row follows all rows."""

    state = SimpleNamespace(threshold=6.0)

    def forward(self, rows):
        return super().forward(rows) + rows.abs().amax()


@pytest.mark.parametrize("shots", [None, ((20, 21, 22),)])
def test_a_text_in_8_bits_has_the_numbers_that_it_has_alone(tiny_checkpoint, shots):
    model = target_of(tiny_checkpoint("llama")).load()
    queries = model.get_submodule(QUERIES)
    mixing = Linear8bitLt(queries.in_features, queries.out_features, bias=False)
    mixing.weight = queries.weight
    model.set_submodule(QUERIES, mixing)
    prefix = PromptPrefix((1,), shots)
    texts = [GENERATOR.integers(4, 299, size).tolist() for size in (5, 5, 20, 31)]
    computed = Engine(model, "tiny", 4096).statistics(
        requests_of(texts), prefix, statistics="logprobs"
    )
    for tokens, values in zip(texts, computed, strict=True):
        # the last token predicts nothing, and need not be read
        ids = torch.tensor([[*prefix.ids, *tokens[:-1]]])
        with torch.inference_mode():
            rows = (
                model(input_ids=ids, use_cache=False)
                .logits[0, -len(tokens) :]
                .log_softmax(-1)
            )
        expected = rows.gather(1, torch.tensor(tokens)[:, None])[:, 0]
        np.testing.assert_allclose(values[0], expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["llama", "mixtral"])
@pytest.mark.parametrize(
    "flags",
    [{"return_dict": False},
     {"output_attentions": True, "output_hidden_states": True, "use_cache": False},
     {"output_router_logits": True}, {"_attn_implementation": "flash_attention_2"},
     {"attn_implementation": "flash_attention_2"},
     {"transformers_weights": "other.safetensors"},
     {"experts_implementation": "deepgemm"}, {"torchscript": True}],
)  # fmt: skip
def test_flags_of_how_a_model_is_run_change_no_number(folder, tiny_model, kind, flags):
    configured(copied := folder(kind), **flags)
    _, model = loaded(copied)
    texts = requests_of([[5, 6, 7, 8], [9, 10]])
    shots = PromptPrefix((0,), ((20, 21, 22),))
    computed = Engine(model, "tiny", 64).statistics(texts, shots, statistics="logprobs")
    expected = Engine(tiny_model(kind), "tiny", 64).statistics(
        texts, shots, statistics="logprobs"
    )
    for values, others in zip(computed, expected, strict=True):
        np.testing.assert_array_equal(values, others)


def test_a_limit_that_is_not_positive_is_none(folder):
    configured(copied := folder(), max_position_embeddings=-1)
    assert check(copied, (5, 200), PromptPrefix((1,))).context is None


def test_positions_that_begin_after_the_paddings_id_leave_fewer_places(saved):
    model = transformers.RobertaForCausalLM(
        transformers.RobertaConfig(**SIZES, is_decoder=True)
    )
    places = tiny_models.CONTEXT - 4
    assert check(saved(model), (5, places), PromptPrefix(())).context == places


def test_the_text_part_of_a_multimodal_model_is_read(saved):
    text_config = SIZES | {
        "model_type": "mistral",
        "head_dim": 8,
        "num_key_value_heads": 2,
    }
    vision_config = {
        "model_type": "pixtral",
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 28,
        "patch_size": 14,
        "head_dim": 8,
    }
    config = transformers.Mistral3Config(
        text_config=text_config, vision_config=vision_config
    )
    folder = saved(transformers.Mistral3ForConditionalGeneration(config))
    for shots in (None, ((20, 21, 22),)):
        check(
            folder,
            (5, 30),
            PromptPrefix((1,), shots),
            transformers.AutoModelForImageTextToText,
        )


@pytest.mark.parametrize("shots", [None, ((20, 21, 22), (23, 24, 25, 26))])
def test_no_batch_crosses_the_length_at_which_longrope_changes(saved, shots):
    """Also where the length with the last token, which need not be read, is the first
    beyond it."""
    factors = {
        "short_factor": [1.0] * 4,
        "long_factor": [3.0] * 4,
        "original_max_position_embeddings": 32,
    }
    config = transformers.Phi3Config(
        **SIZES, rope_parameters={"rope_type": "longrope", "rope_theta": 1e4, **factors}
    )
    folder = saved(transformers.Phi3ForCausalLM(config))
    sizes = (5, 20, 24, 25, 31, 32, 33, 55, 60)
    prompt_prefix = PromptPrefix((1,) if shots else (), shots)
    check(folder, sizes, prompt_prefix)


SPELLED = "The [PAD] of the union", "the state of the union"


def test_an_added_token_without_an_embedding_is_read_as_spelled(
    tiny_checkpoint, job, tmp_path, warnings
):
    folder = Path(
        shutil.copytree(tiny_checkpoint("llama").parent / "model", tmp_path / "added")
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(
        [f"[{number}]" for number in range(tiny_models.VOCABULARY - len(tokenizer))]
    )
    spelled = tokenizer(SPELLED[0], add_special_tokens=False)["input_ids"]
    tokenizer.add_special_tokens({"pad_token": "[PAD]"})
    assert tokenizer.pad_token_id == tiny_models.VOCABULARY
    tokenizer.save_pretrained(folder)
    register_local(folder, tmp_path / "checkpoint.json")
    manifest = job(
        [full_request()], texts=SPELLED, target=target_of(tmp_path / "checkpoint.json")
    )
    assert rows(job, manifest)[0]["token_ids"] == spelled
    assert "[PAD]" in warnings()


def test_a_token_without_an_embedding_names_its_text(tiny_model):
    engine = Engine(tiny_model("llama"), "tiny", 64)
    with pytest.raises(InputError, match=r"text 't1' has token 320.*320 tokens"):
        engine.statistics(
            requests_of([[5, 6], [5, 320]]), PromptPrefix((0,)), statistics="logprobs"
        )


HEADS = {
    "Gemma2": {"head_dim": 8, "final_logit_softcapping": 5.0},
    "Granite": {"logits_scaling": 3.0},
    "Cohere": {"logit_scale": 0.3},
    "MiniCPM3": {"dim_model_base": 5, "q_lora_rank": 16, "kv_lora_rank": 16,
                 "qk_rope_head_dim": 8,
                 "qk_nope_head_dim": 8, "v_head_dim": 8},
}  # fmt: skip


@pytest.mark.parametrize("kind", HEADS)
def test_scaled_and_capped_logits_of_bfloat16_are_not_rounded(kind):
    """Numbers are those of the same hidden states, finished in float32 by the model's
    own code."""
    torch.manual_seed(0)
    make_config = getattr(transformers, f"{kind}Config")
    config = make_config(**SIZES, num_key_value_heads=4, **HEADS[kind])
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    tokens = GENERATOR.integers(4, 299, 60).tolist()
    engine = Engine(model, "tiny", 4096)
    [computed] = engine.statistics(
        requests_of([tokens]), PromptPrefix((1,)), statistics="full"
    )
    with torch.inference_mode():
        input_ids = torch.tensor([[1, *tokens[:-1]]])
        hidden = model.base_model(input_ids=input_ids).last_hidden_state.float()
        model.base_model.forward = lambda *_, **__: (
            transformers.modeling_outputs.BaseModelOutputWithPast(hidden)
        )
        logits = model.float()(input_ids=torch.zeros(1, 1, dtype=torch.long)).logits[0]
    log_p = logits.double().log_softmax(-1)
    expected = log_p[torch.arange(len(tokens)), tokens]
    np.testing.assert_allclose(computed[0], expected, atol=1e-4, rtol=0)
