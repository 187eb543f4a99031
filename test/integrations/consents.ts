import { expect } from '@jest/globals';
import type { ApiClient } from '../api-client.ts';

export const base = '/api/v1/integrations';

export const begin = async (client: ApiClient, integrationId: string, body?: object) => {
  const answer = await client.post(`${base}/${integrationId}/connect`, body);
  expect(answer.status).toBe(200);
  return answer.body.data as { authUrl: string; state: string; expiresIn: number };
};
// biome-ignore lint/suspicious/noExplicitAny: a test reads what the published interface says
export const listOf = async (client: ApiClient): Promise<any[]> => (await client.get(base)).body.data.integrations;
export const findIn = async (client: ApiClient, id: string) => (await listOf(client)).find((one) => one.id === id);
/** What the address says to which a browser was sent back. */
export const outcomeOf = (answer: Response) =>
  Object.fromEntries(new URL(answer.headers.get('location') ?? 'https://none.example').searchParams);
