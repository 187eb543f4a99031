import type { AppError, ErrorKind } from '../../../src/platform/errors.ts';
import type { Envelope } from '../../envelopes.ts';

/** Codes of JSON-RPC, and of its range for servers. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  refused: -32000,
  missingCapability: -32021,
} as const;

const codesOfKinds: Partial<Record<ErrorKind, number>> = {
  validation_error: rpcCodes.parseError,
  payload_too_large: rpcCodes.invalidRequest,
  unsupported_media_type: rpcCodes.invalidRequest,
  internal_error: rpcCodes.internalError,
};

/** A failure as programs read it: our code, its facts, and when to come again. */
export const errorData = ({ code, facts, retryAfter }: Pick<AppError, 'code' | 'facts' | 'retryAfter'>) => ({
  code,
  ...(facts && { details: facts }),
  ...(retryAfter !== undefined && { retryAfter }),
});

/** A refusal before its message is read answers no particular request. */
export const mcpEnvelope: Envelope = (error, { requestId }) => ({
  jsonrpc: '2.0',
  id: null,
  error: {
    code: codesOfKinds[error.kind] ?? rpcCodes.refused,
    message: error.message,
    data: { ...errorData(error), requestId },
  },
});
