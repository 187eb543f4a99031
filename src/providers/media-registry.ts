import { AppError } from '../platform/errors.ts';
import type { Environment } from '../platform/tenant.ts';
import type { MediaProvider } from './core/media/models.ts';
import type { MediaModel } from './media-ports.ts';

/** Selects implementations by environment. No other code distinguishes live and sandbox. */
export interface MediaRegistry {
  /** @throws AppError provider_not_configured, with facts `{provider}` */
  mediaModel(environment: Environment, provider: MediaProvider): MediaModel;
}

/** @param live adapters of the providers with credentials, by provider */
export const mediaRegistry = (
  sandbox: MediaModel,
  live: ReadonlyMap<MediaProvider, MediaModel> = new Map(),
): MediaRegistry => ({
  mediaModel(environment, provider) {
    const found = environment === 'test' ? sandbox : live.get(provider);
    if (found) return found;
    throw new AppError('provider_not_configured', `The provider ${provider} is not configured.`, { provider });
  },
});
