def main(request, response):
    return [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")], "data: one\n\n"
