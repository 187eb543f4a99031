/** The published voices. */
export const voices = ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'] as const;
export type Voice = (typeof voices)[number];

/** Limits of a request for speech. */
export const speechLimits = { codePoints: 4_096, speed: { min: 0.25, max: 4 } } as const;
