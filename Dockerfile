# The pins of envs/requirements.txt and the command pretrace; it runs in /work. Not tested: no machine of ours builds images.
#   docker build --tag pretrace . && docker run --rm --volume "$PWD:/work" pretrace --cores all
FROM python:3.12-slim
COPY . /pretrace
RUN pip install --no-cache-dir -r /pretrace/envs/requirements.txt /pretrace
# for any user id: docker run --user "$(id -u)"
ENV HOME=/tmp
WORKDIR /work
ENTRYPOINT ["pretrace"]
