import { AppError } from '../platform/errors.ts';
import type { MessageError } from './core/status.ts';
import type { MessageKind } from './entities.ts';

const titles = { chat: 'Chat', agent: 'Agent' } as const;

/** The published sentence where no provider of the model has credentials. */
export const notConfigured = (kind: MessageKind, facts: AppError['facts']) =>
  new AppError('provider_not_configured', `${titles[kind]} service not configured`, facts);

/** Seconds after which a tool server may be available again. */
const toolServerRetryAfter = 10;

/** The error for the caller of a message without a reply. */
export const messageFailed = (error: MessageError | null): AppError => {
  const { code, message } = error ?? { code: 'provider_error', message: 'The message was cancelled by an operator.' };
  return code === 'tools_unavailable'
    ? new AppError('service_unavailable', message, undefined, { retryAfter: toolServerRetryAfter })
    : new AppError('ai_provider_error', message);
};
