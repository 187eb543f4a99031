import { createMiddleware } from 'hono/factory';
import type { ApiEnv } from './context.ts';
import { isRead } from './middleware/session.ts';

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Redirects pages that are opened under another name of this machine to the public name: cookies belong to a name, and
 * those of `localhost` do not apply to `127.0.0.1`.
 */
export function toOwnName(publicUrl: string) {
  const own = new URL(publicUrl);
  const others = loopbackNames.includes(own.hostname) ? loopbackNames.filter((name) => name !== own.hostname) : [];
  return createMiddleware<ApiEnv>((c, next) => {
    const host = URL.parse(`http://${c.req.header('host') ?? ''}`);
    if (!isRead(c.req.method) || !host || !others.includes(host.hostname)) return next();
    const { pathname, search } = new URL(c.req.url);
    return Promise.resolve(c.redirect(`${own.origin}${pathname}${search}`, 302));
  });
}
