import { connectedTemplates } from './connected-templates.ts';
import { mediaTemplates } from './media-templates.ts';
import type { WorkflowTemplate } from './template.ts';
import { textTemplates } from './text-templates.ts';

/** Workflows to begin with. Each shows one thing. */
export const gallery: readonly WorkflowTemplate[] = [...textTemplates, ...connectedTemplates, ...mediaTemplates];

export const findTemplate = (id: string): WorkflowTemplate | undefined => gallery.find((one) => one.id === id);
