import type { ThingsOf } from '../openapi/document.ts';

/** A server of the catalogue: every tenant has each of them, and no tenant has another's configuration of it. */
export const toolThings: ThingsOf = async () => [{ prefix: /\/v1\/tools\//, parameter: 'serverId', id: 'filesystem' }];
