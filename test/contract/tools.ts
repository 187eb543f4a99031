import type { Caller } from './caller.ts';

/** The catalogue of tool servers, and how they are configured. */
export async function recordTools({ ask }: Caller): Promise<void> {
  const put = 'PUT /tools/{serverId}';
  const remove = 'DELETE /tools/{serverId}';
  await ask({ endpoint: 'GET /tools' });
  const ids = { serverId: 'github' };
  await ask({ endpoint: put, what: 'without what it needs', ids, body: {} });
  await ask({ endpoint: put, what: 'with unknown fields', ids, body: { values: { a: 'b' }, secrets: { c: 'd' } } });
  await ask({ endpoint: put, ids, body: { secrets: { token: 'ghp_1' } } });
  const url = 'https://tools.example.com/mcp';
  await ask({ endpoint: put, what: 'with another address', ids, body: { url } });
  await ask({ endpoint: put, what: 'with all of another address', ids, body: { url, secrets: { token: 'ghp_2' } } });
  await ask({ endpoint: put, what: 'with an internal address', ids, body: { url: 'https://10.0.0.1/', secrets: {} } });
  await ask({ endpoint: put, what: 'of nothing', ids: { serverId: 'nothing' }, body: {} });
  await ask({ endpoint: 'GET /tools', what: 'with one configured' });
  await ask({ endpoint: remove, ids });
  await ask({ endpoint: remove, what: 'again', ids });
  await ask({ endpoint: remove, what: 'of nothing', ids: { serverId: 'nothing' } });
}
