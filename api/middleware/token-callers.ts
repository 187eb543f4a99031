import { AppError } from '../../src/platform/errors.ts';
import type { Services } from '../../src/services.ts';
import { checkEnd } from '../../src/tenancy/authenticate.ts';
import type { Caller } from '../../src/tenancy/caller.ts';
import { admitsOrigin } from '../../src/tenancy/core/token-access.ts';
import type { ApiContext } from '../context.ts';
import { admitOrigin } from '../requests/cross-origin.ts';
import { limitLookUps } from '../requests/limit-look-ups.ts';

/** The failure of a request with a token to a route that tokens do not reach. */
export const outOfReach = () =>
  new AppError('forbidden', 'Tokens do not reach this operation. Use a key on your server.');

const fromElsewhere = () => new AppError('forbidden', 'The token is not accepted from this origin.');

/** Pages of an admitted origin may read the answer, also that the token has ended. @throws AppError */
function admit(c: ApiContext, caller: Caller): Caller {
  const origin = c.req.header('origin');
  if (origin !== undefined && caller.token) {
    if (!admitsOrigin(caller.token, origin)) throw fromElsewhere();
    admitOrigin(c, origin);
  }
  checkEnd(caller);
  return caller;
}

/**
 * The caller of a request with a token of a browser. @throws AppError unauthorized; forbidden from another origin than the
 * token's; rate_limit_exceeded
 */
export function identifyByToken(
  c: ApiContext,
  access: Pick<Services, 'tokenAuthenticator' | 'failedAuthentications'>,
  token: string,
): Caller | Promise<Caller> {
  const found = access.tokenAuthenticator.find(token, limitLookUps(c, access));
  return found instanceof Promise ? found.then((caller) => admit(c, caller)) : admit(c, found);
}
