import { defineId } from '../../platform/core/ids.ts';

/** The product's workflows, which the code calls automations. */
export const workflowIds = defineId('wf');
export const runIds = defineId('run');
/** Secrets. The audit log names them by it; the API by their names. */
export const secretIds = defineId('sec');
export const batchIds = defineId('batch');
export const bulkActionIds = defineId('bulk');
export const approvalIds = defineId('apr');
