import type { ThingsOf } from '../openapi/document.ts';

/** A server of the catalogue: everybody has each of them, and nobody another's configuration of it. */
export const toolThings: ThingsOf = async () => [{ prefix: /\/v1\/tools\//, parameter: 'serverId', id: 'filesystem' }];
