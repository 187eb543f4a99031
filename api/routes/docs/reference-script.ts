import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import plugin from '@scalar/fastify-api-reference';

/** What the plugin wants to serve at a path. */
interface ServedFile {
  url: string;
  handler(request: unknown, reply: Reply): string;
}
interface Reply {
  header(): Reply;
  send(body: string): string;
}

/**
 * Scalar's whole page is one script. This package carries it as a text and serves it as a plugin; the package that has
 * it as a file brings 160 others along. What the plugin would serve is taken from it.
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

/** Compressed, as every browser takes it: a quarter of its 4 MB. */
export const compressedScript: Promise<Buffer> = promisify(gzip)(findScript());
