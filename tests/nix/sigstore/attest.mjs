// Signs statements as GitHub's actions do, but with a certificate authority and logs that exist for one run (npm's @sigstore/mock), and
// pushes them to registries in the form that actions/attest and cosign use:
//
//     node attest.mjs TRUSTED_ROOT <STATEMENTS
//
// STATEMENTS is a JSON array: `workflow` is who signs, such as acme/browser-shell/.github/workflows/release.yml@refs/tags/v1.0.0; `type` and
// `predicate` are those of the statement, whose subject is `image` (REGISTRY/REPOSITORY@DIGEST, which gets the signed statement as a
// referrer) or `file` (the signed statement is written beside it). TRUSTED_ROOT is written for `cosign --trusted-root`.

import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { initializeCA, initializeTLog } from "@sigstore/mock";

const BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const INDEX = "application/vnd.oci.image.index.v1+json";
const ISSUER = "https://token.actions.githubusercontent.com";

const key = (namedCurve = "P-256") => generateKeyPairSync("ec", { namedCurve });
const sha256 = (data) => createHash("sha256").update(data).digest();
const base64 = (data) => Buffer.from(data).toString("base64");
const pem = (der) => `-----BEGIN CERTIFICATE-----\n${base64(der).replace(/.{64}/g, "$&\n").trimEnd()}\n-----END CERTIFICATE-----\n`;

const number = (value, bytes) => Buffer.from(value.toString(16).padStart(2 * bytes, "0"), "hex");
const idOf = (pair) => sha256(pair.publicKey.export({ format: "der", type: "spki" }));

const [ctKey, logKey] = [key(), key()];
// A log of certificates (RFC 6962): the one of the package makes timestamps without a signature.
const certificateLog = {
  async log(certificate, issuer) {
    const [der, time] = [Buffer.from(certificate), number(Date.now(), 8)];
    const unsigned = der.subarray(4, 8 + der.readUInt16BE(6));
    const entry = [number(0, 2), time, number(1, 2), Buffer.from(issuer), number(unsigned.length, 3), unsigned, number(0, 2)];
    const signature = sign("sha256", Buffer.concat(entry), ctKey.privateKey);
    const timestamp = [number(0, 1), idOf(ctKey), time, number(0, 2), number(0x0403, 2), number(signature.length, 2), signature];
    return Buffer.concat([number(Buffer.concat(timestamp).length, 2), ...timestamp]);
  },
};
const authority = await initializeCA(key("P-384"), certificateLog);
const log = await initializeTLog("https://rekor.example.com", logKey);

const validFor = { start: "2020-01-01T00:00:00Z" };
const trusted = (baseUrl, pair) => {
  const rawBytes = base64(pair.publicKey.export({ format: "der", type: "spki" }));
  return { baseUrl, hashAlgorithm: "SHA2_256", publicKey: { rawBytes, keyDetails: "PKIX_ECDSA_P256_SHA_256", validFor }, logId: { keyId: base64(idOf(pair)) } };
};
writeFileSync(process.argv[2], JSON.stringify({
  mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
  tlogs: [trusted("https://rekor.example.com", logKey)],
  certificateAuthorities: [{
    subject: { organization: "sigstore.mock", commonName: "sigstore" },
    uri: "https://fulcio.example.com",
    certChain: { certificates: [{ rawBytes: base64(authority.rootCertificate) }] },
    validFor,
  }],
  ctlogs: [trusted("https://ctfe.example.com", ctKey)],
}));

async function signed(statement, workflow) {
  const pair = key();
  const certificate = await authority.issueCertificate({
    publicKey: pair.publicKey.export({ format: "der", type: "spki" }),
    subjectAltName: `https://github.com/${workflow}`,
    extensions: [{ oid: "1.3.6.1.4.1.57264.1.1", value: ISSUER, legacy: true }, { oid: "1.3.6.1.4.1.57264.1.8", value: ISSUER }],
  });
  const payload = Buffer.from(JSON.stringify(statement));
  const payloadType = "application/vnd.in-toto+json";
  const sig = base64(sign("sha256", Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `), payload]), pair.privateKey));
  const envelope = { payload: base64(payload), payloadType, signatures: [{ sig }] };
  const [entry] = Object.values(await log.log({
    apiVersion: "0.0.1",
    kind: "dsse",
    spec: {
      envelopeHash: { algorithm: "sha256", value: sha256(JSON.stringify(envelope)).toString("hex") },
      payloadHash: { algorithm: "sha256", value: sha256(payload).toString("hex") },
      signatures: [{ signature: sig, verifier: base64(pem(certificate)) }],
    },
  }));
  const { inclusionProof: proof, signedEntryTimestamp } = entry.verification;
  return JSON.stringify({
    mediaType: BUNDLE,
    verificationMaterial: {
      certificate: { rawBytes: base64(certificate) },
      tlogEntries: [{
        logIndex: String(entry.logIndex),
        logId: { keyId: base64(Buffer.from(entry.logID, "hex")) },
        kindVersion: { kind: "dsse", version: "0.0.1" },
        integratedTime: String(entry.integratedTime),
        inclusionPromise: { signedEntryTimestamp },
        inclusionProof: {
          logIndex: String(proof.logIndex),
          rootHash: base64(Buffer.from(proof.rootHash, "hex")),
          treeSize: String(proof.treeSize),
          hashes: [],
          checkpoint: { envelope: proof.checkpoint },
        },
        canonicalizedBody: entry.body,
      }],
    },
    dsseEnvelope: envelope,
  });
}

async function request(method, url, type, body) {
  const answer = await fetch(url, { method, body, headers: type && { "content-type": type, accept: type } });
  if (!answer.ok && !(method === "GET" && answer.status === 404)) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
  return answer;
}

const digestOf = (data) => `sha256:${sha256(data).toString("hex")}`;

// The registry has no API for referrers, so they are in an index with a tag of their own.
async function refer(image, bundle, predicateType) {
  const [, host, repository, subject] = image.match(/^([^/]+)\/(.+)@(.+)$/);
  const base = `http://${host}/v2/${repository}`;
  for (const blob of ["{}", bundle]) {
    const { headers } = await request("POST", `${base}/blobs/uploads/`);
    await request("PUT", `${headers.get("location")}&digest=${digestOf(blob)}`, "application/octet-stream", blob);
  }
  const annotations = { "dev.sigstore.bundle.content": "dsse-envelope", "dev.sigstore.bundle.predicateType": predicateType };
  const target = await request("GET", `${base}/manifests/${subject}`, `${INDEX}, ${MANIFEST}`);
  const { length: size } = await target.text();
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: MANIFEST,
    artifactType: BUNDLE,
    config: { mediaType: "application/vnd.oci.empty.v1+json", digest: digestOf("{}"), size: 2 },
    layers: [{ mediaType: BUNDLE, digest: digestOf(bundle), size: Buffer.byteLength(bundle) }],
    subject: { mediaType: target.headers.get("content-type"), digest: subject, size },
    annotations,
  });
  await request("PUT", `${base}/manifests/${digestOf(manifest)}`, MANIFEST, manifest);
  const tag = `${base}/manifests/${subject.replace(":", "-")}`;
  const answer = await request("GET", tag, INDEX);
  const manifests = answer.ok ? (await answer.json()).manifests : [];
  manifests.push({ mediaType: MANIFEST, artifactType: BUNDLE, digest: digestOf(manifest), size: manifest.length, annotations });
  await request("PUT", tag, INDEX, JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests }));
}

for (const { workflow, type, predicate, image, file } of JSON.parse(readFileSync(0, "utf8"))) {
  const digest = file ? digestOf(readFileSync(file)) : image.split("@")[1];
  const subject = [{ name: file ? basename(file) : image.split("@")[0], digest: { sha256: digest.slice(7) } }];
  const bundle = await signed({ _type: "https://in-toto.io/Statement/v1", subject, predicateType: type, predicate }, workflow);
  if (file) writeFileSync(`${file}.sigstore.json`, bundle);
  else await refer(image, bundle, type);
}
