import type { Scope } from '../platform/database/scope.ts';
import { AppError } from '../platform/errors.ts';
import type { VoiceRegistry } from '../providers/index.ts';
import { notConfigured } from './errors.ts';

/** @throws AppError provider_not_configured with the published sentence */
export function requireVoice({ voices }: { voices: VoiceRegistry }, { tenant }: Scope): void {
  try {
    voices.isRepeatable(tenant.environment);
  } catch (error) {
    const isMissing = error instanceof AppError && error.kind === 'provider_not_configured';
    throw isMissing ? notConfigured(error.facts) : error;
  }
}
