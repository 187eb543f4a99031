import { findIntegration } from '../../../../src/integrations/catalog.ts';
import type { Integration } from '../../../../src/integrations/definition/integration.ts';
import { integrationNotFound } from '../../../../src/integrations/errors.ts';

/** @param id as the caller wrote it @throws AppError integration_not_found */
export function requireIntegration(id: string): Integration {
  const found = findIntegration(id);
  if (!found) throw integrationNotFound(id);
  return found;
}
