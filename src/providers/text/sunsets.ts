import { clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/observability/log.ts';

/** How long before its sunset date a model is reported. */
const noticeMs = 30 * 24 * 3_600_000;

interface Listed {
  provider: string;
  upstream: string;
  sunsetAt?: string | undefined;
}

/**
 * Warns about published names whose model will soon be shut down, but not about a provider's own names.
 * @param aliases the variable that maps a name to another model
 */
export function warnOfSunsets(
  models: Iterable<[string, Listed]>,
  configured: Pick<ReadonlyMap<string, unknown>, 'has'>,
  log: Log,
  aliases: 'MODEL_ALIASES' | 'MEDIA_ALIASES',
): void {
  for (const [name, { provider, upstream, sunsetAt }] of models) {
    const soon = sunsetAt !== undefined && Date.parse(sunsetAt) < clock.now() + noticeMs;
    if (soon && name !== upstream && configured.has(provider)) {
      const message = `a model will be shut down: map its name to another model with ${aliases}`;
      log.warn({ name, provider, upstream, sunsetAt }, message);
    }
  }
}
