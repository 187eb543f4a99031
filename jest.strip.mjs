// The same type stripping as the runtime: positions are kept, so no source maps are needed.
import { stripTypeScriptTypes } from 'node:module';

export default {
  process(source) {
    return { code: stripTypeScriptTypes(source, { mode: 'strip' }) };
  },
};
