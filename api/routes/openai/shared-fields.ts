import { z } from '@hono/zod-openapi';
import { countedRecord } from '../../schemas/counted-record.ts';

const shortText = z.string().max(512);

/** What OpenAI takes for its own books. It changes no answer, so it is accepted. */
export const bookkeeping = {
  user: shortText.nullish(),
  safety_identifier: shortText.nullish(),
  prompt_cache_key: shortText.nullish(),
  /** At most 16 texts: the variables of a workflow. */
  metadata: countedRecord(z.record(z.string().max(64), shortText), 16).nullish(),
};

const schemaText = 'Expected a JSON Schema.';

/** The form of an answer in JSON, without what says that it is one. */
export const jsonForm = {
  name: z.string().max(64).optional(),
  description: z.string().max(1_000).optional(),
  schema: z.record(z.string(), z.unknown(), schemaText),
  strict: z.boolean().nullish(),
};

/** A tool of the caller. */
export const callerFunction = {
  name: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, 'Expected a letter or _, then letters, digits, _ and -: at most 64.'),
  description: z.string().max(10_000).nullish(),
  parameters: z.record(z.string(), z.unknown(), schemaText).nullish(),
  strict: z.boolean().nullish(),
};

export const maxTools = 128;
export const maxMessages = 2_000;
export const maxParts = 100;
