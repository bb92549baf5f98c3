onconnect = ({ ports }) => ports[0].postMessage("shared");
