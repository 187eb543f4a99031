import { readFile } from 'node:fs/promises';
import { OpenAPIHono } from '@hono/zod-openapi';
import { z } from 'zod';
import { passkeysPath } from '../../../src/accounts/core/paths.ts';
import { listPasskeys, removePasskey } from '../../../src/accounts/own-passkeys.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiEnv } from '../../context.ts';
import { toOwnName } from '../../own-name.ts';
import { allowScripts, answerPage, asPage, formChecks, showError } from '../../pages/form-page.ts';
import { signedIn, toSignIn } from './begin-session.ts';
import { checkFormOrigin, maxFormBytes } from './own-forms.ts';
import { noPasskeysHere, passkeyList } from './page-html.ts';

const title = 'Your passkeys';

/** Read when a process starts, like all code. */
const script = readFile(new URL('./passkeys.js', import.meta.url), 'utf8');

/** Where a person adds and removes passkeys, and the script of that page and of the one where people sign in. */
export function passkeysPage({ accounts, database, env }: Services): OpenAPIHono<ApiEnv> {
  const routes = new OpenAPIHono<ApiEnv>();
  routes.onError(showError);
  for (const path of ['/passkeys', '/passkeys/:id/remove']) routes.use(path, asPage, toOwnName(env.PUBLIC_URL));

  routes.get('/passkeys.js', async (c) =>
    c.body(await script, 200, { 'Content-Type': 'text/javascript; charset=utf-8', 'Cache-Control': 'no-cache' }),
  );
  routes.get('/passkeys', async (c) => {
    const person = await signedIn(c, accounts);
    if (!person) return toSignIn(c);
    if (!accounts.hasPasskeys) return answerPage(c, title, noPasskeysHere);
    allowScripts(c);
    return answerPage(c, title, passkeyList(await listPasskeys(database, person.userId)));
  });
  routes.post('/passkeys/:id/remove', ...formChecks(maxFormBytes), async (c) => {
    checkFormOrigin(c, accounts.origin);
    const person = await signedIn(c, accounts);
    if (!person) return toSignIn(c, passkeysPath);
    const id = z.uuid().safeParse(c.req.param('id')).data;
    if (id !== undefined) await removePasskey(database, person.userId, id);
    return c.redirect(passkeysPath, 303);
  });
  return routes;
}
