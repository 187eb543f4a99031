import type { ThingsOf } from '../openapi/document.ts';

/** A generation. It need not have ended to be read. */
export const studioThings: ThingsOf = async ({ client }) => {
  const { body } = await client.post('/api/studio/generate', { prompt: 'A lighthouse' });
  return [{ prefix: /\/api\/studio\/generations\//, parameter: 'id', id: body.data.id }];
};
