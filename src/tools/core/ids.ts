import { defineId } from '../../platform/core/ids.ts';

/** Configurations of tool servers. The audit log names them; the API names the server itself. */
export const toolConfigurationIds = defineId('tsv');
