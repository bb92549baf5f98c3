const inner = new Worker(location.search ? "/gate/worker-nested.js" : "/gate/worker-echo.js");
inner.onmessage = event => postMessage(event.data);
onmessage = event => inner.postMessage(event.data);
