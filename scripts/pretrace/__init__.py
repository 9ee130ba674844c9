"""pretrace: was this text in that model's pretraining data?"""

from pathlib import Path


def config_folder() -> Path:
    """Return the folder of the registries: `config` of the working directory, else the one installed with the library.

    A workflow that uses this one as a module, or `--directory elsewhere`, may have a `config` of its own or none.
    """
    own = Path("config")
    if (own / "models.yaml").is_file():
        return own
    library = Path(__file__).parent
    in_wheel = library / "config"
    return in_wheel if in_wheel.is_dir() else library.parents[1] / "config"
