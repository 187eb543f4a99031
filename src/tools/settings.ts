import { resolve } from 'node:path';
import { z } from 'zod';
import type { SettingsOf } from '../platform/env.ts';

/** Where tool servers of this machine keep what organizations store. */
export const toolSettings = {
  shape: {
    TOOLS_DIR: z.string().min(1).default('.atelier/tools'),
  },
};

type ToolEnv = SettingsOf<typeof toolSettings.shape>;

/** Absolute path of the folder with the roots of all tenants. */
export const toolsFolder = ({ TOOLS_DIR }: ToolEnv): string => resolve(TOOLS_DIR);
