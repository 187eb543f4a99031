import { z } from '@hono/zod-openapi';

export const recordingForm = {
  'multipart/form-data': {
    schema: z
      .object({
        audio: z
          .string()
          .openapi({ format: 'binary', description: 'The recording. A part called `file` is accepted too.' }),
        language: z.string().optional().openapi({
          pattern: '^[A-Za-z]{2}([-_].*)?$',
          description: 'The spoken language, as a code of ISO 639-1. Detected if it is absent.',
        }),
      })
      .openapi('TranscriptionRequest'),
    examples: { A: { summary: 'Example', value: { audio: '(the bytes of the file)', language: 'en' } } },
  },
};

export const transcriptionSchema = z
  .object({
    text: z.string(),
    duration: z.number().openapi({ description: 'The length of the recording in seconds, to the millisecond.' }),
    language: z.string().openapi({ description: 'A code of ISO 639-1.' }),
  })
  .openapi('Transcription');

export const transcriptionExamples = { A: { text: 'Hello from Atelier.', duration: 1.656, language: 'en' } };
