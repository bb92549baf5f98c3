def web_socket_do_extra_handshake(request):
    pass


def web_socket_transfer_data(request):
    while (message := request.ws_stream.receive_message()) is not None:
        request.ws_stream.send_message(message, binary=isinstance(message, bytes))
