package apperr_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
)

// invalidMembers returns n field errors with different pointers.
func invalidMembers(n int) []apperr.FieldError {
	fields := make([]apperr.FieldError, n)
	for i := range fields {
		fields[i] = apperr.NewFieldError(apperr.JSONPointer("members", fmt.Sprint(n-i)), "value", "Give a number.")
	}
	return fields
}

func TestCauseIsForTheLogOnly(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	err := fmt.Errorf("read quote: %w", apperr.Fail(apperr.CodeUnavailable, "Try again in %d s.", 5).WithCause(cause))
	require.Equal(t, apperr.CodeUnavailable, apperr.CodeOf(err))
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, "read quote: unavailable: Try again in 5 s.: connection refused")
	public := new(apperr.Error)
	require.ErrorAs(t, err, &public)
	require.Equal(t, "Try again in 5 s.", public.Detail)
	require.EqualError(t, apperr.Fail(apperr.CodeNotFound, "There is none."), "not_found: There is none.")
	require.Equal(t, apperr.CodeInternal, apperr.CodeOf(cause))
	require.Equal(t, apperr.CodeInternal, apperr.CodeOf(nil))
}

func TestFieldErrorsAreCountedAndLimited(t *testing.T) {
	t.Parallel()
	for n, detail := range map[int]string{
		1:                         "The request has a member that is not right; see errors.",
		2:                         "The request has 2 members that are not right; see errors.",
		apperr.MaxFieldErrors:     "The request has 100 members that are not right; see errors.",
		apperr.MaxFieldErrors + 1: "The request has more than 100 members that are not right; errors names 100 of them.",
	} {
		given := invalidMembers(n)
		first := given[0]
		err := apperr.Invalid(append(given, given[n-1])...)
		require.Equal(t, apperr.CodeValidationFailed, err.Code)
		require.Equal(t, detail, err.Detail, "the same error twice counts once")
		require.Len(t, err.Fields, min(n, apperr.MaxFieldErrors))
		require.Equal(t, "/members/1", err.Fields[0].Pointer)
		require.Equal(t, first, given[0], "the caller's slice is not sorted")
	}
}

func TestInvalidParameterIsNamed(t *testing.T) {
	t.Parallel()
	one := apperr.InvalidParameter("limit", "Use 1 to 100.")
	require.Equal(t, apperr.CodeParameterInvalid, one.Code)
	require.Equal(t, "The parameter limit is not right: Use 1 to 100.", one.Detail)
	require.Equal(t, []apperr.FieldError{{Pointer: "/limit", Code: "value", Detail: "Use 1 to 100."}}, one.Fields)
	require.Equal(t, "Give from before to.", apperr.BadParameter(apperr.NewFieldError("", "value", "Give from before to.")).Detail)
	require.Equal(t, "2 parameters are not right; see errors.", apperr.BadParameter(invalidMembers(2)...).Detail)
}

func TestPointersEscapeNamesAndAreBounded(t *testing.T) {
	t.Parallel()
	require.Equal(t, "/a~1b/c~0d/~01/", apperr.JSONPointer("a/b", "c~d", "~1", ""))
	require.Empty(t, apperr.JSONPointer())
	long := strings.Repeat("n", 100)
	fits := apperr.JSONPointer(long, long, strings.Repeat("n", 53))
	require.Len(t, fits, 256)
	require.Equal(t, fits, apperr.BoundPointer(fits))
	require.Equal(t, fits, apperr.BoundPointer(fits+"/inner"), "the innermost member that fits")
	require.Equal(t, apperr.JSONPointer(long, long), apperr.BoundPointer(fits+"n"))
	require.Empty(t, apperr.BoundPointer(apperr.JSONPointer(strings.Repeat("n", 300))))
	require.Equal(t, apperr.JSONPointer(long), apperr.NewFieldError(apperr.JSONPointer(long, strings.Repeat("n", 300)), "length", "").Pointer)
}

func TestUnparsedMemberIsNotCheckedAgain(t *testing.T) {
	t.Parallel()
	ctx := apperr.WithFieldErrors(t.Context(), apperr.FieldError{Pointer: "/place", Code: "type"})
	require.Nil(t, apperr.FieldErrorsFrom(t.Context()))
	v := apperr.NewValidator(ctx)
	require.False(t, v.IsParsed("/term", "/place/latitude"), "inside it")
	require.True(t, v.IsParsed("/term", "/places", "/plac"), "other names")
	v.Require(false, "/place", "value", "Give a place.")
	v.Require(false, "/place/latitude", "value", "Give a latitude.")
	v.Require(false, "/term", "value", "Give a term.")
	v.Require(true, "/limit", "value", "Give a limit.")
	refused := new(apperr.Error)
	require.ErrorAs(t, v.Err(), &refused)
	require.Equal(t, []apperr.FieldError{{Pointer: "/place", Code: "type"}, {Pointer: "/term", Code: "value", Detail: "Give a term."}}, refused.Fields)
	require.NoError(t, apperr.NewValidator(t.Context()).Err())

	cut := apperr.NewValidator(apperr.WithFieldErrors(t.Context(), invalidMembers(apperr.MaxFieldErrors+1)...))
	cut.Require(false, "/term", "value", "Give a term.")
	require.Len(t, cut.AllErrors(), apperr.MaxFieldErrors+1, "the list may lack the member that the rule is about")
}

func TestErrorsOfElementsAreSplit(t *testing.T) {
	t.Parallel()
	v := &apperr.Validator{}
	for _, pointer := range []string{"/days/1/rain", "/days/0", "/days/1", "/days/2/rain", "/days/x", "/days", "/other/0", "/days/-1", "/days/+1"} {
		v.Unparsed = append(v.Unparsed, apperr.FieldError{Pointer: pointer})
	}
	require.Equal(t, [][]apperr.FieldError{{{Pointer: ""}}, {{Pointer: "/rain"}, {Pointer: ""}}}, v.SplitElements("/days", 2))
	require.Equal(t, []apperr.FieldError{{Pointer: "/days/2/rain"}, {Pointer: "/days/x"}, {Pointer: "/days"}, {Pointer: "/other/0"}, {Pointer: "/days/-1"}, {Pointer: "/days/+1"}}, v.Unparsed)
}
