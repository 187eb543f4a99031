import { findIntegration } from '../../../../src/integrations/catalog.ts';
import { integrationNotFound } from '../../../../src/integrations/errors.ts';
import type { Integration } from '../../../../src/integrations/integration.ts';

/** @param id as the caller wrote it @throws AppError integration_not_found */
export function requireIntegration(id: string): Integration {
  const found = findIntegration(id);
  if (!found) throw integrationNotFound(id);
  return found;
}
