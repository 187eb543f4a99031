/** Whether an error says that the service cannot be reached at the moment, or cannot answer. */
export function isOutage(error: unknown): boolean {
  const { status } = (error ?? {}) as { status?: number | null };
  return (status ?? 503) > 500;
}
