import { createMiddleware } from 'hono/factory';
import { AppError } from '../../../src/platform/errors.ts';
import { isSameSecret } from '../../../src/platform/security/compare-secrets.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiEnv } from '../../context.ts';
import { limitedRange } from '../../requests/client-address.ts';

/** Requires the installation's CRON_SECRET. Without one in the environment every request is refused. */
export function requireCronSecret({ env, failedAuthentications }: Services) {
  const expected = env.CRON_SECRET;
  return createMiddleware<ApiEnv>(async (c, next) => {
    const given = /^bearer +(\S+)$/i.exec(c.req.header('authorization')?.trim() ?? '')?.[1];
    if (expected === undefined || !isSameSecret(given, expected)) {
      failedAuthentications.take(limitedRange(c.get('clientAddress')()));
      throw new AppError('unauthorized', 'Send CRON_SECRET of this installation as "Authorization: Bearer <secret>".');
    }
    await next();
  });
}
