import type { z } from '@hono/zod-openapi';
import { isJsonObject } from '../../../src/platform/core/json-shapes.ts';
import { invalid } from '../../../src/platform/errors.ts';
import { defaultModels } from '../../../src/providers/core/media/models.ts';
import { problemsOfBody } from '../../../src/providers/core/media/requests.ts';
import type { MediaRegistry } from '../../../src/providers/media/media-registry.ts';
import type { ApiContext } from '../../context.ts';
import { problemsOfSchema } from '../../new-routes.ts';

type Validated = { success: true } | { success: false; error: z.ZodError };

/**
 * Refuses a body that does not match its schema, and reports the problems by the table of models at the same time.
 * @throws AppError validation_error
 */
export const refuseBody =
  (media: Pick<MediaRegistry, 'models'>, kind: 'image' | 'video' | 'music') =>
  (result: Validated, c: ApiContext): void => {
    if (result.success) return;
    const body = c.get('body');
    const ofModel = isJsonObject(body) ? problemsOfBody(kind, body, media.models, defaultModels[kind]) : [];
    const known = new Set(ofModel.map(({ path }) => path));
    throw invalid([...problemsOfSchema(result.error).filter(({ path }) => !known.has(path)), ...ofModel]);
  };
