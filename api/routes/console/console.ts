import { OpenAPIHono } from '@hono/zod-openapi';
import { AppError } from '../../../src/platform/errors.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { toOwnName } from '../../own-name.ts';
import { type BuiltFile, readBuiltFiles } from './built-files.ts';

const assets = 'assets/';
const yearInSeconds = 31_536_000;

/** Scripts, styles and requests of its own origin alone; images and sound from the storage too. No page may show it in a frame. */
const policy = (storageOrigin: string) =>
  [
    "default-src 'self'",
    `img-src 'self' data: blob: ${storageOrigin}`,
    `media-src 'self' blob: ${storageOrigin}`,
    "frame-ancestors 'none'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ');

/** The smallest form of a file that the client reads. */
function encodingFor(c: ApiContext, file: BuiltFile): ['br' | 'gzip' | undefined, Uint8Array<ArrayBuffer>] {
  const accepted = c.req.header('accept-encoding') ?? '';
  for (const name of ['br', 'gzip'] as const) {
    const body = file[name];
    if (body && accepted.includes(name)) return [name, body];
  }
  return [undefined, file.plain];
}

const notBuilt = () =>
  new AppError('service_unavailable', 'The console has not been built. Run "npm run build" in the folder web.');

/**
 * The files of the console, and its one page at every other address below `/app`. Files have a hash of their content in
 * their name and may be cached for a year; the page is requested each time, so that it names the current files.
 */
export function consoleRoutes(publicUrl: string, storageOrigin: string): OpenAPIHono<ApiEnv> {
  const routes = new OpenAPIHono<ApiEnv>();
  const contentPolicy = policy(storageOrigin);
  let files: ReadonlyMap<string, BuiltFile> | undefined;
  const answer = (c: ApiContext, file: BuiltFile, cacheControl: string) => {
    const [encoding, body] = encodingFor(c, file);
    c.header('Content-Security-Policy', contentPolicy);
    c.header('Vary', 'Accept-Encoding');
    return c.body(body, 200, {
      'Content-Type': file.type,
      'Cache-Control': cacheControl,
      ...(encoding && { 'Content-Encoding': encoding }),
    });
  };
  const serve = (c: ApiContext) => {
    // Read on the first request: most processes serve no page.
    if (!files?.size) files = readBuiltFiles();
    const name = c.req.path.slice('/app/'.length);
    if (name.startsWith(assets)) {
      const file = files.get(name);
      if (!file) throw new AppError('not_found', 'No file of the console has this name.');
      return answer(c, file, `public, max-age=${yearInSeconds}, immutable`);
    }
    const page = files.get('index.html');
    if (!page) throw notBuilt();
    return answer(c, page, 'no-cache');
  };
  routes.use('/*', toOwnName(publicUrl));
  routes.get('/', serve);
  routes.get('/*', serve);
  return routes;
}
