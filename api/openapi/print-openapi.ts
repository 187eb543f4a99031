import { Connection } from '@temporalio/client';
import packageJson from '../../package.json' with { type: 'json' };
import { openLog } from '../../src/platform/observability/log.ts';
import { openServices, readEnv } from '../../src/services.ts';
import { buildApp } from '../app.ts';

// The document does not depend on any server, so no connection is opened.
const env = readEnv({ DATABASE_URL: 'postgresql://127.0.0.1/none', TEMPORAL_ADDRESS: '127.0.0.1:1' });
const services = await openServices(env, openLog('silent', 'openapi'), {
  connection: Connection.lazy(),
});
const response = await buildApp(services, { version: packageJson.version, commit: 'none' }).request('/openapi.json');
console.log(JSON.stringify(await response.json(), null, 2));
await services.close();
