import type { ThingsOf } from '../openapi/document.ts';

/** A generation, which need not have ended to be read, and a video that nothing changes any more. */
export const studioThings: ThingsOf = async ({ client }) => {
  const image = (await client.post('/api/studio/generate', { prompt: 'A lighthouse' })).body.data;
  const video = (await client.post('/api/studio/generate-video', { prompt: 'Waves' })).body.data;
  await client.post(`/api/studio/generate-video/${video.id}/cancel`);
  return [
    { prefix: /\/api\/studio\/generations\//, parameter: 'id', id: image.id },
    { prefix: /\/api\/studio\/generate-video\//, parameter: 'id', id: video.id },
  ];
};
