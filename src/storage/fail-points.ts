import { defineFailPoints } from '../platform/parts/fail-points.ts';

export const failPoint = defineFailPoints('file.stored');
