import time


def main(request, response):
    def parts():
        for _ in range(3):
            yield b"x" * 1000
            time.sleep(0.2)

    response.headers.set("Content-Type", "text/plain")
    response.content = parts()
