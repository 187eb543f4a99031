import { addressHeader, signInPath } from '../../../src/accounts/core/paths.ts';
import type { AccountServices } from '../../../src/accounts/index.ts';
import type { SignedIn } from '../../../src/accounts/sessions.ts';
import type { Entry } from '../../../src/accounts/sign-up.ts';
import type { ApiContext } from '../../context.ts';
import { answerPage } from '../../pages/form-page.ts';
import { limitedRange } from '../../requests/client-address.ts';
import { nextOf, withNext } from './next.ts';
import { codeForm } from './page-html.ts';

type WhichCookies = boolean | ((name: string) => boolean);

/**
 * What better-auth learns of a request of our pages.
 * @param withCookies all of them, none, or those whose names it accepts
 */
export function headersFor(c: ApiContext, { withCookies }: { withCookies: WhichCookies }): Headers {
  const headers = new Headers({ [addressHeader]: c.get('clientAddress')() });
  const agent = c.req.header('user-agent');
  if (agent !== undefined) headers.set('user-agent', agent.slice(0, 500));
  const cookie = cookiesOf(c.req.header('cookie'), withCookies);
  if (cookie) headers.set('cookie', cookie);
  return headers;
}

function cookiesOf(header: string | undefined, which: WhichCookies): string | undefined {
  if (typeof which === 'boolean' || header === undefined) return which ? header : undefined;
  const pairs = header.split(';').filter((pair) => which(pair.slice(0, pair.indexOf('=')).trim()));
  return pairs.join(';');
}

export function takeCookies(c: ApiContext, { headers }: Response): void {
  for (const cookie of headers.getSetCookie()) c.header('Set-Cookie', cookie, { append: true });
}

/**
 * Begins a new session for a person who has proved an address.
 * @returns whether it begins only after the code of a second factor
 */
async function beginSession(c: ApiContext, accounts: AccountServices['accounts'], userId: string): Promise<boolean> {
  const auth = await accounts.auth.get();
  const headers = headersFor(c, { withCookies: false });
  const answer = await auth.api.beginSession({ body: { userId }, headers, asResponse: true });
  takeCookies(c, answer);
  return ((await answer.json()) as { needsCode: boolean }).needsCode;
}

/**
 * Ends the other sessions of a person whose code turned the second factor on: they began without one. better-auth
 * then begins a new session in place of that of the request.
 */
export async function endOthersIfRenewed(
  { headers }: Response,
  { sessions, cookie }: AccountServices['accounts'],
  userId: string,
): Promise<void> {
  const values = headers.getSetCookie().map((one) => cookie.valueIn(one) ?? '');
  const token = values.map((value) => cookie.tokenOf(value)).find((one) => one !== undefined);
  if (token !== undefined) await sessions.endOthers(userId, token);
}

/** Signs in a person who has proved an address: the person continues, or enters a code first. */
export async function enter(
  c: ApiContext,
  accounts: AccountServices['accounts'],
  userId: string,
  next = nextOf(c),
): Promise<Response> {
  if (await beginSession(c, accounts, userId)) return answerPage(c, 'Sign in', codeForm(next));
  return c.redirect(next, 303);
}

/** The person of the session cookie; undefined without a session. */
export async function signedIn(
  c: ApiContext,
  { sessions, cookie }: AccountServices['accounts'],
): Promise<SignedIn | undefined> {
  const value = cookie.valueIn(c.req.header('cookie'));
  const token = value === undefined ? undefined : cookie.tokenOf(value);
  return token === undefined ? undefined : sessions.find(token);
}

/** Where a page of ours leads that was opened without a session. */
export const toSignIn = (c: ApiContext, next = c.req.path): Response => c.redirect(withNext(signInPath, next), 303);

/** The entry of a person by this request. */
export function entryOf(c: ApiContext, { limits, mayAnybodySignUp }: AccountServices['accounts']): Entry {
  const origin = { requestId: c.get('requestId'), ip: c.get('clientAddress')() };
  const countOrganization = mayAnybodySignUp ? () => limits.countSignUp('organization', addressOf(c)) : undefined;
  return { origin, countOrganization };
}

/** The address of a client as limits know it. */
export const addressOf = (c: ApiContext): string => limitedRange(c.get('clientAddress')());
