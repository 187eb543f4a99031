import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';

/**
 * The baseline of reading a workflow: `node:http`, `pg`, and the product's own SELECT, prepared. There is no
 * authentication.
 */
const select = `select a.id, a.name, a.description, a.state, a.total_runs as "totalRuns", a.created_at as "createdAt",
          a.updated_at as "updatedAt", d.ai_provider as "aiProvider", d.ai_model as "aiModel", d.steps, d.config, d.inputs
     from automation a join definition d on d.id = a.definition_id
    where a.organization_id = $1 and a.environment = $2 and a.id = $3 and a.deleted_at is null`;

const [connectionString, organizationId, poolSize] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString, max: Number(poolSize) });

const server = createServer({ keepAliveTimeout: 75_000 }, async (request, response) => {
  const id = request.url!.slice(request.url!.lastIndexOf('/') + 1);
  const { rows } = await pool.query({ name: 'detail', text: select, values: [organizationId, 'test', id] });
  const body = JSON.stringify({ success: true, data: rows[0] });
  response.writeHead(rows.length === 1 ? 200 : 404, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
});

server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
for (const end of ['SIGTERM', 'disconnect']) process.on(end, () => process.exit(0));
