import { OpenAPIHono } from '@hono/zod-openapi';
import { AppError } from '../../../src/platform/errors.ts';
import { shareBody } from '../../connection/outgoing-answer.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { answerText, type KeptText, keepText } from '../../kept-text.ts';
import { pagePolicy } from '../../pages/html-page.ts';

const dayInSeconds = 86_400;

/** Makes each value once, for the first request that needs it. A failure is not kept. */
function madeOnce<Value>(make: (name: string) => Promise<Value>): (name: string) => Promise<Value> {
  const made = new Map<string, Promise<Value>>();
  return (name) => {
    const known = made.get(name);
    if (known) return known;
    const value = make(name);
    made.set(name, value);
    value.catch(() => made.delete(name));
    return value;
  };
}

function answerPage(c: ApiContext, page: KeptText): Response {
  c.header('Content-Security-Policy', `${pagePolicy}; img-src 'self'`);
  return answerText(c, page, 'text/html; charset=utf-8');
}

/** The guides of the repository as pages. Each is rendered once, on the first request. */
export function guideRoutes(): OpenAPIHono<ApiEnv> {
  const routes = new OpenAPIHono<ApiEnv>();
  // The renderer is loaded on the first request.
  const open = () => import('./guide-pages.ts');
  const pages = madeOnce(async (name) => {
    const { guideIndex, guidePage } = await open();
    return keepText(name === '' ? guideIndex() : guidePage(name));
  });
  const images = madeOnce(async (name) => shareBody((await open()).readImage(name)));

  routes.get('/docs/guides', async (c) => answerPage(c, await pages('')));
  routes.get('/docs/guides/:guide', async (c) => {
    const name = c.req.param('guide');
    if (!(await open()).guideNames.has(name)) throw new AppError('not_found', 'No guide has this name.');
    return answerPage(c, await pages(name));
  });
  routes.get('/docs/guides/images/:image', async (c) => {
    const name = c.req.param('image');
    if (!(await open()).imageNames.has(name)) throw new AppError('not_found', 'No image has this name.');
    return c.body(await images(name), 200, {
      'Content-Type': 'image/png',
      'Cache-Control': `public, max-age=${dayInSeconds}`,
    });
  });
  return routes;
}
