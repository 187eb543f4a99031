import type { OpenAPIHono } from '@hono/zod-openapi';
import { AppError } from '../../../src/platform/errors.ts';
import type { Environment } from '../../../src/platform/tenant.ts';
import { modelNames } from '../../../src/providers/core/media/models.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiEnv } from '../../context.ts';
import { requireKey } from '../../middleware/authenticate.ts';
import { keysAlone } from '../../middleware/keys-alone.ts';
import { newRoutes } from '../../new-routes.ts';

/** Programs name one of these. All mean the voice and the transcription of this installation. */
export const speechModels = ['tts-1', 'tts-1-hd', 'gpt-4o-mini-tts'] as const;
export const transcriptionModels = ['whisper-1', 'gpt-4o-transcribe'] as const;

const modelOf = (id: string, owner: string) => ({ id, object: 'model', created: 0, owned_by: owner });

export function modelRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const routes = newRoutes();
  const modelsOf = (environment: Environment) => {
    const texts = services.providers.listModels(environment).filter(({ available }) => available);
    return [
      ...texts.map(({ id, provider }) => modelOf(id, provider.toLowerCase())),
      ...modelNames(services.media.models, 'image').map((id) => modelOf(id, 'atelier')),
      ...[...speechModels, ...transcriptionModels].map((id) => modelOf(id, 'atelier')),
    ];
  };
  const read = [keysAlone, requireKey(services)] as const;
  routes.get('/models', ...read, (c) => c.json({ object: 'list', data: modelsOf(c.get('scope').tenant.environment) }));
  routes.get('/models/:model', ...read, (c) => {
    const model = modelsOf(c.get('scope').tenant.environment).find(({ id }) => id === c.req.param('model'));
    if (!model) throw new AppError('not_found', 'There is no model of this name.');
    return c.json(model);
  });
  return routes;
}
