def main(request, response):
    return [("Content-Type", "text/plain")], str(len(request.body))
