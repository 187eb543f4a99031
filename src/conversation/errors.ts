import { AppError } from '../platform/errors.ts';
import type { TurnError } from './core/status.ts';
import type { TurnKind } from './entities.ts';

const titles = { chat: 'Chat', agent: 'Agent' } as const;

/** The published sentence where no provider of the model has credentials. */
export const notConfigured = (kind: TurnKind, facts: AppError['facts']) =>
  new AppError('provider_not_configured', `${titles[kind]} service not configured`, facts);

/** Seconds after which a tool server may be available again. */
const toolServerRetryAfter = 10;

/** The error for the caller of a turn without a reply. */
export const turnFailed = (error: TurnError | null): AppError => {
  const { code, message } = error ?? { code: 'provider_error', message: 'The message was cancelled by an operator.' };
  return code === 'tools_unavailable'
    ? new AppError('service_unavailable', message, undefined, { retryAfter: toolServerRetryAfter })
    : new AppError('ai_provider_error', message);
};
