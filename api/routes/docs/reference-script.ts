import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import plugin from '@scalar/fastify-api-reference';
import { shareBody } from '../../connection/outgoing-answer.ts';

/** A file that the plugin serves. */
interface ServedFile {
  url: string;
  handler(request: unknown, reply: Reply): string;
}
interface Reply {
  header(): Reply;
  send(body: string): string;
}

/**
 * Scalar's page is one script. This package contains it and serves it as a Fastify plugin, so it is extracted from the
 * plugin here; the package that ships the script as a file has 160 dependencies.
 */
function findScript(): string {
  const files: ServedFile[] = [];
  const framework = { initialConfig: {}, hasPlugin: () => false, route: (file: ServedFile) => void files.push(file) };
  plugin(framework, { configuration: { url: 'none' } }, () => {});
  const script = files.find(({ url }) => url.endsWith('.js'));
  if (!script) throw new Error('The plugin has no script.');
  const reply: Reply = { header: () => reply, send: (body) => body };
  return script.handler(undefined, reply);
}

/** Gzip shrinks the 4 MB to a quarter. */
async function compress(): Promise<Uint8Array<ArrayBuffer>> {
  const { buffer, byteOffset, byteLength } = await promisify(gzip)(findScript());
  return shareBody(new Uint8Array(buffer, byteOffset, byteLength));
}

export const compressedScript = compress();
