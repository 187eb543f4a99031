import { expect, test } from '@jest/globals';
import { Hono } from 'hono';
import { LiteralFirstRouter } from './literal-first-router.ts';

const app = new Hono({ router: new LiteralFirstRouter() });
app.use('*', async (c, next) => {
  await next();
  c.header('x-passed', 'yes');
});
app.post('/things/:id/sync', (c) => c.text(`sync ${c.req.param('id')}`));
app.post('/things/connect', (c) => c.text('connect'));
app.get('/things/:id', (c) => c.text(`get ${c.req.param('id')}`));
app.get('/things/callback', (c) => c.text('callback'));

app.get('/things/:id/parts/:part', (c) => c.text(`part ${c.req.param('part')} of ${c.req.param('id')}`));
app.get('/things/parts/:part', (c) => c.text(`part ${c.req.param('part')}`));
app.post('/things/parts/:part/cancel', (c) => c.text(`cancel ${c.req.param('part')}`));

const ask = async (method: string, path: string) => {
  const response = await app.request(path, { method });
  return [response.status, await response.text(), response.headers.get('x-passed')];
};

test('a path of its own is found beside ids, and is none of them', async () => {
  expect(await ask('POST', '/things/connect')).toEqual([200, 'connect', 'yes']);
  expect(await ask('GET', '/things/callback')).toEqual([200, 'callback', 'yes']);
  expect(await ask('GET', '/things/one')).toEqual([200, 'get one', 'yes']);
  expect(await ask('POST', '/things/one/sync')).toEqual([200, 'sync one', 'yes']);
  expect((await ask('GET', '/things/connect'))[0]).toBe(404);
});

test('a literal beginning is found beside ids too', async () => {
  expect(await ask('GET', '/things/parts/one')).toEqual([200, 'part one', 'yes']);
  expect(await ask('POST', '/things/parts/one/cancel')).toEqual([200, 'cancel one', 'yes']);
  expect(await ask('GET', '/things/two/parts/one')).toEqual([200, 'part one of two', 'yes']);
  expect(await ask('GET', '/things/parts')).toEqual([200, 'get parts', 'yes']);
});

test('what looks like a template is an id like any other', async () => {
  expect(await ask('GET', '/things/:id')).toEqual([200, 'get :id', 'yes']);
});

test('equal routes have one list of handlers, by which others know them', () => {
  const handlersOf = (path: string) => app.router.match('GET', path)[0];
  expect(handlersOf('/things/one')).toBe(handlersOf('/things/two'));
  expect(handlersOf('/things/callback')).toBe(handlersOf('/things/callback'));
});
