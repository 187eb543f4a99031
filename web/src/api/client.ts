import { Atelier } from '../../../sdk/typescript/src/index.ts';
import type { Environment } from '../session/session.ts';

export type Client = Atelier;

/**
 * Calls the API with the session's cookie. The API lets a session write only with the header against forged requests,
 * which no other page can set.
 */
export const openClient = (organizationId: string, environment: Environment): Client =>
  new Atelier({
    baseUrl: location.origin,
    headers: {
      'X-Atelier-Organization': organizationId,
      'X-Atelier-Environment': environment,
      'X-Atelier-CSRF': '1',
    },
  });
