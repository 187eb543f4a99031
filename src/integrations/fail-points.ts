import { defineFailPoints } from '../platform/fail-points.ts';

export const failPoint = defineFailPoints('integration.connected');
