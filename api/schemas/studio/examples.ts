const id = 'gen_0199aaaabbbb7ccc8dddeeeeffff0000';
const createdAt = '2026-01-15T10:30:00.000Z';
const completedAt = '2026-01-15T10:30:04.000Z';

export const videoId = 'vid_0199aaaabbbb7ccc8dddeeeeffff0001';

export const exampleAddress = (ending: string) =>
  `https://api.example.com/files/${'kJ3vQ8sXw2LtYp0RbN7hFz5CgM1dUeA6iOxT4mKqSWE'}.${ending}?expires=1768559400&signature=0Zs1mF0a8c3l1Yb5uJkq0sV9u2b1t8WbXh7uQeXn4wM`;

const image = {
  id,
  url: exampleAddress('png'),
  prompt: 'A red bicycle in front of a blue wall',
  model: 'flux-pro-1.1',
  aspectRatio: '1:1',
  width: 1024,
  height: 1024,
  seed: 42,
  creditsUsed: 1,
};

export const imageExamples = { image: { ...image, createdAt } };
export const musicRecordExamples = {
  music: { id, url: exampleAddress('mp3'), duration: 10.03, format: 'mp3' as const, creditsUsed: 3 },
};
export const upscaleRecordExamples = {
  upscale: {
    id,
    url: exampleAddress('png'),
    originalWidth: 640,
    originalHeight: 480,
    newWidth: 1280,
    newHeight: 960,
    scale: 2,
    creditsUsed: 1,
  },
};
export const cutOutExamples = {
  cutOut: { id, url: exampleAddress('png'), format: 'png' as const, hasTransparency: true, creditsUsed: 1 },
};
export const enhancedExamples = {
  enhanced: { original: 'A red bicycle', enhanced: 'A red bicycle leaning on a blue wall, soft morning light' },
};
export const processingExamples = { processing: { id, status: 'processing' as const } };

const asked = { id, type: 'image' as const, prompt: image.prompt, model: image.model, createdAt };
export const generationExamples = {
  completed: { ...image, ...asked, status: 'completed' as const, completedAt, failedAt: null, error: null },
  failed: {
    ...asked,
    status: 'failed' as const,
    completedAt: null,
    failedAt: completedAt,
    error: { code: 'content_policy' as const, message: 'The provider refused the content.' },
  },
};

export const historyExamples = {
  page: {
    items: [{ id, type: 'image' as const, url: image.url, prompt: image.prompt, model: image.model, createdAt }],
    total: 1,
    limit: 20,
    offset: 0,
  },
};
